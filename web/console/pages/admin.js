// Where the tab Admin leads: to the first page of its menu that this user may see.

import { useEffect } from "../../vendor/modules/hooks.js";
import { h } from "../parts/html.js";
import { href } from "../route.js";
import { may } from "../session.js";
import { ADMIN, Admin } from "./admin_frame.js";

export default function AdminPage() {
  const first = ADMIN.find(({ role }) => may(role));
  useEffect(() => void (first && location.replace(href([first.path]))), []);
  return h(Admin, { title: "Admin" });
}
