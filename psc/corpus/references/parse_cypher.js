// Parses Cypher from standard input with Neo4j's own parser of Cypher 5, which the package @neo4j-cypher/language-support in the folder named
// brings, one answer line each; see conversation.py for the format. What it finds behind its parser is an error if it is about the order of
// clauses or the form of a pattern; what is about names, types, values and the database is none.

const answerTexts = require('./answer_texts.js');
const { lintCypherQuery } = require(process.argv[2]);

const ERROR = 1;
const OF_FORM = [
  /^(Invalid input '|Expected (any of|')|invalid literal number|Invalid .* syntax|Invalid index type|Indexes cannot be dropped by schema)/,
  /^(Query cannot conclude|RETURN can only|WITH is required|Expression in WITH must be aliased|USE clause must|Console commands)/,
  /^(Invalid combination of UNION|Invalid use of [A-Z ]+ inside FOREACH|Cannot use `YIELD \*`|.* cannot be used together with this command)/,
  /^(An? (Exists|Count|Collect) Expression (cannot contain|must end)|.*can only be used in this order)/,
  /^(Label expressions|Mixing|Dynamic Label|Relationship types in a relationship type|The semantics of using colon)/,
  /^(Only directed relationships|Exactly one relationship type|A single relationship type|Variable length relationships|Juxtaposition)/,
  /^(Parameter maps|(Node|Relationship) pattern predicates|shortestPath|allShortestPaths|A pattern expression should only)/,
  /^(Match modes|Unknown operation|DELETE doesn't support|The start or end|\w+\(\.\.\.\) requires)|no longer (supported|allows)/,
];

function judge(text) {
  const { diagnostics } = lintCypherQuery(text, {}, { consoleCommandsEnabled: false });
  const first = diagnostics.find(({ severity, message }) => severity === ERROR && OF_FORM.some((form) => form.test(message)));
  if (!first) return '';
  return `${first.range.start.line + 1}:${first.range.start.character + 1}:${first.message.split('\n')[0]}`;
}

answerTexts(judge);
