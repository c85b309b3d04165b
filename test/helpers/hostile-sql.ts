/** Names that would be code in some engine, command line or template. */
import { hostileNames } from './hostile-text.ts';

/** A word that no SQL has: in every hostile text, and nowhere else. */
export const MARKER = 'zqx';
const { half: _, ...UNSEEN } = hostileNames;
/** What may end a literal, an identifier, a comment or a line. */
export const ENDS = [
  "'",
  '"',
  '`',
  ']',
  "\\'",
  "''",
  "\\''",
  "'''",
  '\\',
  '$$',
  '*/',
  '\n',
  '\r',
  '\u2028',
  '\u2029',
  '\u0085',
  '\0',
  '',
];
export const STATEMENT = `; DROP TABLE ${MARKER}; --`;
export const TEXTS: readonly string[] = [
  ...ENDS.map((end) => `${end} ${STATEMENT}`),
  ...ENDS.map((end) => `${MARKER}${end}`),
  ...[
    `\n1 AS x FROM windowed w GROUP BY ALL${STATEMENT}`,
    `\nGO\nDROP TABLE ${MARKER}\nGO\n`,
    `\n.shell ${MARKER}\n`,
    `\n!system ${MARKER}\n`,
  ],
  ...[`/* ${MARKER}`, `*/ ${MARKER} /*`, `-- ${MARKER}`, `# ${MARKER}`, `{# ${MARKER} #}`, `// ${MARKER}`],
  ...[
    `{{ ${MARKER} }}`,
    `{% do ${MARKER} %}`,
    `\${${MARKER}}`,
    `\${env:${MARKER}}`,
    `$(${MARKER})`,
    `$${MARKER}`,
    `&${MARKER}`,
    `&{${MARKER}}`,
    `<% ${MARKER} %>`,
    `:${MARKER}`,
    `@${MARKER}`,
    `%(${MARKER})s`,
  ],
  ...[
    `E'${MARKER}`,
    `r'''${MARKER}`,
    `"""${MARKER}`,
    `0x${MARKER}`,
    `\\u0027${MARKER}`,
    `\\x27 ${MARKER}`,
    `U&'\\0027 ${MARKER}`,
    `$tag$ ${MARKER} $tag$`,
  ],
  ...Object.values(UNSEEN).map((text) => `${text}${MARKER}`),
];
