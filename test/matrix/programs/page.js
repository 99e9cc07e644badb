import { story } from "./story.js";

/** For pages. */
const settings = await fetch("/settings.json");
const told = document.createElement("pre");
told.textContent = JSON.stringify(await story(await settings.json()));
document.body.append(told);
