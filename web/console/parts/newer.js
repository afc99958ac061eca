// An object as a route has answered it, with the numbers that the stream has told since.

import { useRef, useState } from "../../vendor/modules/hooks.js";
import { useLive } from "../live.js";
import { historyMs } from "./history.js";
import { withHistories, withNewer } from "./newer_numbers.js";

/** An answer about an object, with the histories that earlier answers had while the page is open. @param {any} data */
export function useHistories(data) {
  const known = useRef(/** @type {{ answer: any, whole: any }} */ ({ answer: undefined, whole: undefined }));
  if (data !== known.current.answer) known.current = { answer: data, whole: withHistories(known.current.whole, data, historyMs()) };
  return known.current.whole;
}

/**
 * What a route has answered, with the numbers that the stream has told since.
 * @param {string | null} part of the stream @param {import("../resource.js").Resource<any>} resource
 */
export function useNewer(part, { data, error, at, reload }) {
  const [told, setTold] = useState(/** @type {{ data: any, at: number, part: string } | null} */ (null));
  useLive(part, ({ name, data: newer }) => {
    const isOfIt = part?.split(":")[0] === name;
    if (isOfIt) setTold({ data: newer, at: Date.now(), part: part ?? "" });
    // It is deleted, or exists again.
    if (!isOfIt || error !== undefined) void reload();
  });
  const whole = useHistories(data);
  return withNewer(whole, told && told.part === part && told.at > at ? told.data : undefined);
}
