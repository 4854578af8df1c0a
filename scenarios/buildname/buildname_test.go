package buildname

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBuildHoldsNoDate(t *testing.T) {
	assert.Equal(t, "devel", Of())
	assert.True(t, released.MatchString("v1.2.3"))
	assert.True(t, released.MatchString("v1.2.3-rc.1"))
	assert.False(t, released.MatchString("v0.0.0-20261121084400-abcdefabcdef"))
	assert.False(t, released.MatchString("v1.2.3+dirty"))
}

func TestABuildIsNamedByItsReleaseOrItsCommit(t *testing.T) {
	of := func(path, version, modified string) string {
		return nameOf(&debug.BuildInfo{Main: debug.Module{Path: path, Version: version}, Settings: []debug.BuildSetting{
			{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d"}, {Key: "vcs.modified", Value: modified},
		}})
	}
	assert.Equal(t, "v1.2.3", of(modulePath, "v1.2.3", "false"))
	assert.Equal(t, "1a2b3c4d5e6f", of(modulePath, "v0.0.0-20261121084400-1a2b3c4d5e6f", "false"))
	assert.Equal(t, "1a2b3c4d5e6f+dirty", of(modulePath, "(devel)", "true"))
	assert.Equal(t, "devel", of("example.com/service", "(devel)", "true"))
	assert.Equal(t, "devel", nameOf(&debug.BuildInfo{Main: debug.Module{Path: modulePath}}))
}
