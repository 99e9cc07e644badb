/** A page of the identity provider. What goes into it is escaped here. */
function page(title: string, ...lines: readonly string[]): Response {
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>body { font: 16px/1.5 system-ui, sans-serif; max-width: 24em; margin: 15vh auto; padding: 0 1em }</style>
<h1>${title}</h1>
${lines.join("\n")}
</html>
`;
  return new Response(html, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
    },
  });
}

/** One button logs in, and a link refuses. The form goes to the address of the page itself. */
export function loginPage(username: string, clientId: string, refusalAddress: string): Response {
  return page(
    "Sandbox login",
    `<p>${escapeHtml(clientId)} wants to act for you.</p>`,
    `<form method="post"><button autofocus>Log in as ${escapeHtml(username)}</button></form>`,
    `<p><a href="${escapeHtml(refusalAddress)}">Refuse</a></p>`,
  );
}

export function loggedOutPage(): Response {
  return page("Logged out", "<p>The session has ended.</p>");
}

/** What can't be told to the application, because its address is not known or not acceptable. */
export function refusalPage(why: string): Response {
  const { headers, body } = page("We are sorry", `<p>${escapeHtml(why)}</p>`);
  return new Response(body, { status: 400, headers });
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
