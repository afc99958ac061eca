// An object as a route has answered it, with the numbers that the stream has told since.

import { useRef, useState } from "../../vendor/modules/hooks.js";
import { useLive } from "../live.js";
import { withHistories, withNewer } from "./newer_numbers.js";

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
  const known = useRef(/** @type {{ answer: any, whole: any }} */ ({ answer: undefined, whole: undefined }));
  if (data !== known.current.answer) known.current = { answer: data, whole: withHistories(known.current.whole, data) };
  return withNewer(known.current.whole, told && told.part === part && told.at > at ? told.data : undefined);
}
