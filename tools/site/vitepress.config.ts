import { anchorOf } from "./anchors.js";
import { filesAddress, version } from "./manifest.js";
import { chapters } from "./pages.js";

/** VitePress's: https://vitepress.dev/reference/site-config. Dead links fail the build. */
export default {
  title: "cross-border-payments",
  description: "The TypeScript client of the Cross-Border Payment Service",
  lang: "en",
  cleanUrls: true,
  head: [["meta", { name: "color-scheme", content: "light dark" }]],
  // The documents are read on GitHub too, and their links have to hold in both.
  markdown: { anchor: { slugify: anchorOf } },
  themeConfig: {
    nav: [
      { text: "Overview", link: "/overview" },
      { text: "Reference", link: "/reference/" },
      { text: version, link: `${filesAddress}/CHANGELOG.md` },
    ],
    sidebar: Object.entries(chapters).map(([text, pages]) => ({
      text,
      items: pages.map(({ name, title }) => ({ text: title, link: `/${name}` })),
    })),
    outline: [2, 3],
    search: { provider: "local" },
  },
};
