// Package buildname names the build of a program: in results, so that two of one name are of the same code, and in its version.
package buildname

import (
	"regexp"
	"runtime/debug"
)

const modulePath = "github.com/wavetank-sim/wavetank"

// released matches a tagged version. The pseudo-version of an untagged build holds a date, which
// no result may depend on.
var released = regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?$`)

// Devel is the name of a build that is no release and does not know its commit, as that of a test.
const Devel = "devel"

// Dirty ends the name of a build of a commit and of changes that are in none.
const Dirty = "+dirty"

// Of names this build: the module's released version, or twelve digits of its commit, or [Devel].
func Of() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Devel
	}
	return nameOf(info)
}

func nameOf(info *debug.BuildInfo) string {
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path == modulePath && released.MatchString(m.Version) {
			return m.Version
		}
	}
	name := Devel
	if info.Main.Path != modulePath { // the commit is that of a program that imports it
		return name
	}
	for _, s := range info.Settings { // the revision comes before modified
		switch {
		case s.Key == "vcs.revision":
			name = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			name += Dirty
		}
	}
	return name
}
