// Package observe brings a model up to date with a run, event by event, and calls the hooks of those who judge it.
//
// observe.go takes an event apart; each file after it takes in one kind of change. hooks.go has what a checker can hook
// into, and told.go what an observer can be asked.
package observe
