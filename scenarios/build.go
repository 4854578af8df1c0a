package scenarios

import (
	"regexp"
	"runtime/debug"
)

const modulePath = "github.com/wavetank-sim/wavetank"

// released matches a tagged version. The pseudo-version of an untagged build holds a date, which
// no result may depend on.
var released = regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?$`)

// Devel is the name of every build that is no release.
const Devel = "devel"

// Build names this build: the module's released version, or [Devel].
func Build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Devel
	}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path == modulePath && released.MatchString(m.Version) {
			return m.Version
		}
	}
	return Devel
}
