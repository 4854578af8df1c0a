// Package settings holds what a scheduler can be set to: the documented design, its alternatives, and the
// hardenings.
//
// [Settings] is a plain struct. The tags of a field are its one description: yaml and json name it, doc says what it
// does, and min, max, oneof and like bound it. [Settings.Validate], the flags of cmd, the plans of scenarios and
// their lists of settings all read them.
//
// There are two presets, [Documented] and [Hardened]. Each group of settings but the scheduler's own has a file.
//
// Its files, each of which calls only those after it:
//
//	settings.go                      the scheduler's own, and the presets
//	validate.go                      what is wrong with them
//	policy.go, output.go             the safety kernel and the output policy
//	saga.go, workflow.go, replay.go  sagas, runs and dead letters
package settings
