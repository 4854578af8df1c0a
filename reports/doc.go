// Package reports turns a finished run into the files of its folder: plan.yaml, result.json and
// report.html, beside the trace.jsonl that the run wrote itself.
//
// report.html is one page that opens from disk and needs no network: the verdict, the story, the
// invariants, the faults, the jobs, one lane a node with the steps of the jobs in question, and
// plots by gonum/plot inlined as SVG. A page depends on seed and build alone; it holds no date,
// host or path, so the pages of two runs compare equal.
//
// [Write] makes the folder, [Page] the page alone, [Trace] reads a trace back.
package reports
