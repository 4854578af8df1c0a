// Package namespace runs a test in Linux namespaces of its own: with a disk that it can fill, or with
// machines that each have their own network.
package namespace
