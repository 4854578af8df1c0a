// Package settings holds what a scheduler can be set to: the documented design, its alternatives, and the
// hardenings.
//
// [Settings] is a plain struct. The tags of a field are its one description: yaml and json name it, doc says what it
// does, and min, max, oneof and like bound it. [Settings.Validate], the flags of cmd, the plans of scenarios and
// their lists of settings all read them.
//
// settings.go holds the scheduler's own group and the two presets, [Documented] and [Hardened]. Each other group has
// a file: policy.go, output.go, saga.go, workflow.go and replay.go. validate.go checks them all.
package settings
