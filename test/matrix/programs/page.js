import { CrossBorderClient } from "cross-border-payments";
import { story } from "./story.js";

/** For pages. */
const response = await fetch("/settings.json");
const settings = await response.json();
const told = document.createElement("pre");
told.textContent = JSON.stringify({
  ...(await story(settings, { fetch: (url, init) => fetch(url, init) })),
  byPage: byPage(),
});
document.body.append(told);

function byPage() {
  try {
    return typeof new CrossBorderClient({ ...settings.service, signingKey: settings.signingKey });
  } catch (error) {
    return error.name;
  }
}
