"use strict";
(() => {
  const EVERY_MS = 2000;
  const section = (page) => page.getElementById("running").closest("section");
  let known = null;
  const look = async () => {
    if (!document.hidden) {
      try {
        const reply = await fetch("/live.html", { cache: "no-store" });
        const records = reply.headers.get("X-Assay-Records");
        if (known !== null && records !== known) return location.reload();
        known = records;
        if (reply.ok) {
          const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
          section(document).replaceWith(document.adoptNode(section(fresh)));
        }
      } catch {
        // the server has ended: keep what was shown last
      }
    }
    setTimeout(look, EVERY_MS);
  };
  setTimeout(look, EVERY_MS);
})();
