// Package sweep answers a designer's question with many runs: which value of a setting is best, and
// against what does it trade.
package sweep
