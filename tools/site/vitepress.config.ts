import { fileURLToPath } from "node:url";
import { anchorOf } from "./anchors.js";
import { editAddress, filesAddress, repositoryAddress, version } from "./manifest.js";
import { chapters, pages } from "./pages.js";
import { referenceTree, type SidebarItem } from "./reference-tree.js";
import { breakNames, labelCells } from "./tables.js";

/** What TypeDoc has written before VitePress begins. */
const reference = fileURLToPath(new URL("staged/reference", import.meta.url));
const sources = new Map(pages.map(({ name, source }) => [`${name}.md`, source ?? `docs/${name}.md`]));

const pageOf = new Map(pages.map((page) => [`${page.name}.md`, page]));

interface RenderedPage {
  readonly relativePath: string;
}

// VitePress writes the text of these functions into the page, so they use nothing from outside.
const guidesFirst = (id: string) => (id.includes("/reference/") ? 0.02 : 1);
const isLong = (term: string) => term.length > 3;
const fuzzyIfLong = (term: string) => (term.length > 4 ? 0.2 : false);
const withoutSmallWords = (term: string) =>
  /^(?:an?|and|are|by|do|for|how|i|in|is|it|my|of|on|or|the|to|with)$/i.test(term) ? null : term.toLowerCase();

/** What is used of markdown-it. */
interface Markdown {
  readonly options: { readonly highlight: unknown };
  set(options: { readonly highlight: unknown }): void;
  render(source: string, page: RenderedPage): string;
}

interface PageData {
  readonly filePath: string;
  readonly frontmatter: Readonly<Record<string, unknown>>;
}

/** The chapters of the sidebar. */
function guides(collapsed: boolean): readonly SidebarItem[] {
  return Object.entries(chapters).map(([text, listed]) => ({
    text,
    collapsed,
    items: [
      ...listed.map(({ name, title }) => ({ text: title, link: `/${name}` })),
      ...(text === "Reference" ? [{ text: "API reference", link: "/reference/" }] : []),
    ],
  }));
}

/** VitePress's: https://vitepress.dev/reference/site-config. Dead links fail the build. */
export default {
  title: "cross-border-payments",
  description: "The TypeScript client of the Cross-Border Payment Service",
  lang: "en",
  cleanUrls: true,
  head: [
    ["meta", { name: "color-scheme", content: "light dark" }],
    ["link", { rel: "icon", type: "image/svg+xml", href: "/images/logo.svg" }],
  ],
  markdown: {
    // The documents are read on GitHub too, and their links have to hold in both.
    anchor: { slugify: anchorOf },
    // Of the themes at hand, those whose every colour can be read on its ground.
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    config(markdown: Parameters<typeof labelCells>[0]) {
      labelCells(markdown);
      breakNames(markdown);
    },
  },
  transformPageData({ filePath, frontmatter }: PageData) {
    const source = sources.get(filePath);
    if (source !== undefined) return { filePath: source };
    return { frontmatter: { ...frontmatter, editLink: false } };
  },
  themeConfig: {
    logo: "/images/logo.svg",
    nav: [
      { text: "Get started", link: "/quickstart" },
      { text: "Make API calls", link: "/api-calls" },
      { text: "Send payments", link: "/durable-flow" },
      { text: "API reference", link: "/reference/" },
      { text: `v${version}`, link: `${filesAddress}/CHANGELOG.md` },
    ],
    sidebar: {
      "/": guides(false),
      "/reference/": [{ text: "API reference", link: "/reference/", items: referenceTree(reference) }, ...guides(true)],
    },
    outline: [2, 3],
    search: {
      provider: "local",
      options: {
        miniSearch: {
          options: { processTerm: withoutSmallWords },
          searchOptions: {
            boost: { title: 6, text: 2, titles: 1 },
            boostDocument: guidesFirst,
            combineWith: "AND",
            prefix: isLong,
            fuzzy: fuzzyIfLong,
          },
        },
        _render(source: string, page: RenderedPage, markdown: Markdown) {
          const known = pageOf.get(page.relativePath);
          // Colors are most of the size of a page, and useless for a search.
          const { highlight } = markdown.options;
          markdown.set({ highlight: undefined });
          const html = markdown.render(source, page);
          markdown.set({ highlight });
          if (known === undefined) return html;
          const { title, alsoFoundBy = "" } = known;
          // Right below the title, which a result leads to.
          return html.replace(/(<h1[^>]*>)[^<]*(.*?<\/h1>)/s, `$1${title}$2<p>${alsoFoundBy}</p>`);
        },
      },
    },
    editLink: { pattern: `${editAddress}/:path`, text: "Edit this page" },
    socialLinks: [{ icon: "github", link: repositoryAddress }],
  },
};
