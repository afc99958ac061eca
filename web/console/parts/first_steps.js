// What to do with a broker that has no queue: a queue, and a first message in the reader's own language.

import { useState } from "../../vendor/modules/hooks.js";
import { useResource } from "../resource.js";
import { href } from "../route.js";
import { html } from "./html.js";
import { say } from "./note.js";

/** @type {Record<string, string>} */
const SAMPLES = {
  Python: `import pika  # pip install pika

connection = pika.BlockingConnection(pika.URLParameters("amqp://guest:guest@HOST:5672/"))
channel = connection.channel()
channel.queue_declare("first", durable=True)
channel.basic_publish("", "first", b"hello", pika.BasicProperties(delivery_mode=2))
connection.close()`,
  Node: `import amqplib from "amqplib"; // npm install amqplib

const connection = await amqplib.connect("amqp://guest:guest@HOST:5672/");
const channel = await connection.createConfirmChannel();
await channel.assertQueue("first", { durable: true });
channel.sendToQueue("first", Buffer.from("hello"), { persistent: true });
await channel.waitForConfirms();
await connection.close();`,
  Java: `// com.rabbitmq:amqp-client
ConnectionFactory factory = new ConnectionFactory();
factory.setUri("amqp://guest:guest@HOST:5672/");
try (Connection connection = factory.newConnection(); Channel channel = connection.createChannel()) {
    channel.queueDeclare("first", true, false, false, null);
    channel.basicPublish("", "first", MessageProperties.PERSISTENT_TEXT_PLAIN, "hello".getBytes());
}`,
  Go: `// go get github.com/rabbitmq/amqp091-go
connection, err := amqp.Dial("amqp://guest:guest@HOST:5672/")
if err != nil { log.Fatal(err) }
defer connection.Close()
channel, err := connection.Channel()
if err != nil { log.Fatal(err) }
channel.QueueDeclare("first", true, false, false, false, nil)
channel.Publish("", "first", false, false, amqp.Publishing{DeliveryMode: 2, Body: []byte("hello")})`,
};

export function FirstSteps() {
  const [language, setLanguage] = useState("Python");
  const sample = (SAMPLES[language] ?? "").replaceAll("HOST", location.hostname || "localhost");
  const copy = () => navigator.clipboard?.writeText(sample).then(() => say("Copied."), () => say("The browser does not let this page copy: select the text and copy it.", "error"))
    ?? say("Browsers let only pages with TLS copy: select the text and copy it.", "error");
  const { data: vhosts } = useResource("api/vhosts?columns=name", 60_000);
  if (vhosts?.length === 0) return html`<p class="empty">This user sees no queue: it has no permissions in any virtual host. An administrator grants them.</p>`;
  return html`<div class="empty"><h3>There is no queue yet</h3>
    <p><a href=${href(["queues"], { add: "yes" })}>Add a queue</a>, or let a client declare one and publish:</p>
    <div class="acts" role="group" aria-label="Language">${Object.keys(SAMPLES).map((name) => html`<button type="button" aria-pressed=${name === language} class=${name === language ? "main" : ""} onClick=${() => setLanguage(name)}>${name}</button>`)}
      <button type="button" class="quiet" onClick=${copy}>Copy</button></div>
    <pre tabindex="0" aria-label=${`A first publish in ${language}`}>${sample}</pre></div>`;
}
