/** The tokens of an expression, as far as error messages need them. */
export interface Token {
  text: string;
  start: number;
  end: number;
}

const TOKEN =
  /\s+|\/\/[^\n]*|([rb]{0,2}(?:"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|[A-Za-z_]\w*|\d[\w.]*|[=!<>]=|&&|\|\||[\s\S])/gi;

export function tokensOf(expression: string): Token[] {
  return [...expression.matchAll(TOKEN)].flatMap(({ index, 0: whole, 1: text }) =>
    text === undefined ? [] : [{ text, start: index, end: index + whole.length }],
  );
}

export const isString = ({ text }: Token): boolean => /^[rb]{0,2}["']/i.test(text);
