"use strict";
// Shows what is next and sends what is chosen; texts are only ever set as text.
const address = new URLSearchParams(location.search);
const key = address.get("key") || "";
const rater = address.get("rater") || "";
const at = (id) => document.getElementById(id);
const CHOICES = {
  pairs: [["left ←", "first", ["ArrowLeft"]], ["tie ↓", "tie", ["ArrowDown"]], ["right →", "second", ["ArrowRight"]]],
  long: ["1", "2", "3", "4", "5"].map((one) => [one, one, [one]]),
};
let state = null;
let busy = false;

function query() {
  return new URLSearchParams({ key, rater }).toString();
}

function button(label, press) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = label;
  made.addEventListener("click", press);
  return made;
}

function side(one) {
  const frame = document.createElement("div");
  const inner = document.createElement(one.image ? "img" : "pre");
  if (one.image) {
    inner.alt = "";
    inner.src = one.image + "?" + query();
  } else {
    inner.textContent = one.text;
  }
  frame.append(inner);
  return frame;
}

function show() {
  const ended = state.number === null;
  at("place").textContent = ended ? state.done + " of " + state.total + " done" : state.done + 1 + " of " + state.total;
  at("prompt").textContent = ended ? "Thank you: everything is rated and kept. You may close this page." : state.prompt;
  at("shown").replaceChildren(...(ended ? [] : state.shown.map(side)));
  const choices = ended ? [] : CHOICES[state.mode].map(([label, answer]) => button(label, () => send("/answer", answer)));
  at("answers").replaceChildren(...choices, ...(state.last ? [button("undo u", () => send("/undo"))] : []));
  at("keys").textContent = ended ? "u: undo" : state.mode === "pairs" ? "← left, → right, ↓ tie, u undo" : "1 worst to 5 best, u undo";
  document.body.dataset.done = state.done;
}

async function load(request) {
  busy = true;
  try {
    const reply = await request;
    if (reply.status === 409) {
      at("note").textContent = "This was answered elsewhere; here is what is next.";
      return await load(fetch("/next?" + query()));
    }
    if (!reply.ok) throw new Error(await reply.text());
    state = await reply.json();
    at("note").textContent = "";
    show();
  } catch (error) {
    at("note").textContent = "Not kept: " + error.message + ". Is the server running? Reload to go on.";
  } finally {
    busy = false;
  }
}

function send(path, answer) {
  if (busy || state === null || (path === "/answer" && state.number === null)) return;
  const body = JSON.stringify({ rater, number: state.number, answer });
  load(fetch(path, { method: "POST", headers: { "Content-Type": "application/json", "X-Assay-Key": key }, body }));
}

document.addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || state === null) return;
  if (event.key === "u") return send("/undo");
  const found = CHOICES[state.mode].find(([, , keys]) => keys.includes(event.key));
  if (found && state.number !== null) {
    event.preventDefault();
    send("/answer", found[1]);
  }
});

if (rater) {
  load(fetch("/next?" + query()));
} else {
  at("prompt").textContent = "Who rates? Add &rater=CODE to the address: a code such as r1, not a name.";
}
