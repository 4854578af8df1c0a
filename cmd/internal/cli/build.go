package cli

import (
	"regexp"
	"runtime/debug"
)

// released matches a tagged version.
var released = regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?$`)

// Build names this build: the module's released version, or "devel".
func Build() string {
	if info, ok := debug.ReadBuildInfo(); ok && released.MatchString(info.Main.Version) {
		return info.Main.Version
	}
	return "devel"
}
