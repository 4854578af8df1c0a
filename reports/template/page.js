// The page reads without this; it only adds a button to each replay command that copies it.
"use strict";
for (const pre of document.querySelectorAll(".replay pre")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  const say = (word) => {
    button.textContent = word;
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  };
  const select = () => {
    getSelection().selectAllChildren(pre);
    return document.execCommand("copy");
  };
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(pre.textContent);
      say("Copied");
    } catch {
      say(select() ? "Copied" : "Selected");
    }
  });
  pre.after(button);
}
