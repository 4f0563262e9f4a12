// Sphinx's scores of search results; of equal ones those of the user guide come first.
const BACKGROUND = ["about/", "benchmark", "measurements", "defaults", "papers"];
var Scorer = {
  score: ([docname, , , , score]) => {
    if (docname.startsWith("guide/")) return score + 3;
    return BACKGROUND.some((name) => docname.startsWith(name)) ? score - 3 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
