import { chapters, type Page } from "./pages.js";

const summary = "The TypeScript client of the Cross-Border Payment Service, for the back ends of payment gateways.";

/** A list of every page for programs that read documentation: https://llmstxt.org. Each page is there as Markdown too. */
export function llms(addressOf: (page: Page) => string): string {
  const lists = Object.entries(chapters).map(([chapter, pages]) => {
    const items = pages.map((page) => `- [${page.title}](${addressOf(page)}): ${page.about}`);
    return `## ${chapter}\n\n${items.join("\n")}`;
  });
  return `# cross-border-payments\n\n> ${summary}\n\n${lists.join("\n\n")}\n`;
}
