/** Makes elements. Texts are set as texts: nothing that comes from a server is ever read as HTML. */

type Attributes = Readonly<Record<string, string | number>>;
type Child = Node | string;

const fill = <E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E => {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
};

export const el = <K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] => fill(document.createElement(tag), attributes, children);

export const svg = <K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

/** Sets a text only if it is another: a screen reader need not hear it again. */
export const setText = (element: Element, text: string): void => {
  if (element.textContent !== text) element.textContent = text;
};
