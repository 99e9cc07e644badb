/** What a page shows that readers can't see whole, as a text for each; evaluated in the page. */
export const cutParts = `(() => {
  const width = document.documentElement.clientWidth;
  const faults = [];
  if (document.documentElement.scrollWidth > width) faults.push("the page scrolls sideways");
  // Below 960 pixels the sidebar is out of the window until it is asked for; the outline shortens long headings, which the page has in whole; code scrolls.
  const isHidden = (element) => (width < 960 && element.closest(".VPSidebar") !== null) || element.closest("thead, pre, .VPNavScreen, .VPNavBarHamburger, .visually-hidden, .header-anchor, .outline-link, svg") !== null;
  const nameOf = (element) => element.tagName + "." + element.className + " " + (element.textContent ?? "").trim().slice(0, 60);
  for (const element of document.querySelectorAll(".VPContent *, .VPNavBar *, .VPSidebar *")) {
    if (isHidden(element) || element.getClientRects().length === 0) continue;
    const { left, right } = element.getBoundingClientRect();
    const isCut = element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).overflowX !== "visible";
    if (right > width + 1 || left < -1 || isCut) faults.push((isCut ? "cut: " : "outside: ") + nameOf(element));
  }
  return faults.slice(0, 5);
})()`;

/** The texts of a page whose contrast with their ground is less than WCAG's AA asks for; evaluated in the page. */
export const faintTexts = `(() => {
  const parse = (color) => { const [r, g, b, a = 1] = color.match(/[\\d.]+/g).map(Number); return { r, g, b, a }; };
  const over = (top, below) => ({ r: top.r * top.a + below.r * (1 - top.a), g: top.g * top.a + below.g * (1 - top.a), b: top.b * top.a + below.b * (1 - top.a), a: 1 });
  const light = ({ r, g, b }) => {
    const [x, y, z] = [r, g, b].map((part) => { const c = part / 255; return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  // Kept: a block of code has hundreds of texts on one ground.
  const grounds = new Map([[null, { r: 255, g: 255, b: 255, a: 1 }]]);
  const groundOf = (element) => {
    if (!grounds.has(element)) grounds.set(element, over(parse(getComputedStyle(element).backgroundColor), groundOf(element.parentElement)));
    return grounds.get(element);
  };
  const faults = new Set();
  const texts = document.createTreeWalker(document.querySelector(".VPContent"), NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
    const element = text.parentElement;
    if (text.data.trim() === "" || element.closest(".header-anchor, button.copy, .lang, .clip, style, title") !== null) continue;
    if (element.getClientRects().length === 0) continue;
    const style = getComputedStyle(element);
    if (style.visibility !== "visible" || style.opacity === "0" || style.webkitTextFillColor === "rgba(0, 0, 0, 0)") continue;
    const ground = groundOf(element);
    const [one, other] = [light(over(parse(style.color), ground)), light(ground)].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const contrast = (one + 0.05) / (other + 0.05);
    if (contrast < (isLarge ? 3 : 4.5)) faults.add(contrast.toFixed(2) + ": " + text.data.trim().slice(0, 40) + " (" + style.color + ")");
  }
  return [...faults].slice(0, 5);
})()`;
