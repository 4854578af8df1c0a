// Package claims is what the documents of the scheduler say, sentence by sentence, and what shows that it is so: one
// line of claims.tsv for each. A test of package scenarios runs what they name.
package claims
