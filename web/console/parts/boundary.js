// A page that fails takes nothing else with it.

import { Component } from "../../vendor/modules/preact.js";
import { html } from "./html.js";

/** @extends {Component<{ children?: any }, { error: string }>} */
export class Boundary extends Component {
  constructor() {
    super();
    this.state = { error: "" };
  }

  /** @param {unknown} error */
  componentDidCatch(error) {
    this.setState({ error: error instanceof Error ? error.message : String(error) });
  }

  render() {
    if (this.state.error === "") return this.props.children;
    return html`<h1>This page failed</h1><p>It is a fault of the console: <code>${this.state.error}</code></p>
      <p><button type="button" onClick=${() => this.setState({ error: "" })}>Show it again</button></p>`;
  }
}
