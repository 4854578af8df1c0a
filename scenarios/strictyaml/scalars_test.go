package strictyaml_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

func TestScalars(t *testing.T) {
	h := harbour{Name: "north"}
	var names []string
	for _, s := range strictyaml.Scalars(&h) {
		names = append(names, s.Name+" "+s.Type())
	}
	assert.Equal(t, []string{"version integer", "name text", "note text", "berths.count integer", "berths.every duration", "berths.share number", "berths.open boolean", "berths.order choice", "berths.pilot.boats integer", "berths.pilot.rest duration", "opens integer", "seed integer"}, names)

	s, ok := strictyaml.ScalarOf(&h, "berths.count")
	require.True(t, ok)
	assert.Equal(t, "1 to 1000", s.Allowed())
	assert.Equal(t, "how many there are", s.Doc())
	v, err := s.Parse("7")
	require.NoError(t, err)
	assert.Equal(t, "0", s.Text(), "it keeps its value")
	s.Value.Set(v)
	assert.Equal(t, 7, h.Berths.Count)
	_, err = s.Parse("0")
	require.EqualError(t, err, "berths.count is 0, out of range; give 1 to 1000")
	_, ok = strictyaml.ScalarOf(&h, "berths")
	assert.False(t, ok)

	assert.Equal(t, reflect.Map, strictyaml.Field(&h, "slow").Kind())
	assert.Equal(t, "1ns to 24h", strictyaml.Element(reflect.TypeFor[harbour](), "slow").Allowed())
}

func TestMarshalWritesWhatDiffers(t *testing.T) {
	type quay struct {
		Version int                   `yaml:"version"`
		Note    string                `yaml:"note,omitempty"`
		Berths  berths                `yaml:"berths"`
		Slow    map[int]time.Duration `yaml:"slow"`
		Labels  map[string]string     `yaml:"labels"`
		Master  *ship                 `yaml:"master"`
		Ships   []ship                `yaml:"ships"`
	}
	base := quay{Berths: berths{Count: 3, Order: "first-come"}}
	assert.Equal(t, "version: 0\n", string(strictyaml.Marshal(&base, &base, nil)))

	q := base
	q.Note, q.Berths.Every = "plain words, and more", 90*time.Second
	q.Slow, q.Labels = map[int]time.Duration{10: time.Hour, 9: 20 * time.Minute}, map[string]string{"a b": "7", "c": "it's"}
	q.Ships = []ship{{ID: "one", Ports: []string{"north", "south"}}, {ID: "on"}}
	text := strictyaml.Marshal(&q, &base, []string{"berths.pilot.boats", "berths.open"})
	assert.Equal(t, `version: 0
note: plain words, and more
berths:
  every: 1m30s
  open: false
  pilot: {boats: 0}
slow: {9: 20m, 10: 1h}
labels: {a b: "7", c: "it's"}
ships:
  - id: one
    ports: [north, south]
  - id: "on"
`, string(text))
	again := base
	require.NoError(t, strictyaml.Kind{What: "a quay"}.Read("q.yaml", text, &again, func() *strictyaml.Error { return nil }))
	assert.Equal(t, q, again)
}

func TestSections(t *testing.T) {
	sections := strictyaml.Sections(reflect.TypeFor[harbour](), strictyaml.Section{Name: "harbour", Doc: "all of it"})
	var names []string
	for _, s := range sections {
		names = append(names, s.Name)
	}
	assert.Equal(t, []string{"harbour", "berths", "berths.pilot", "ships", "later"}, names)
	assert.Equal(t, strictyaml.Key{Name: "count", Doc: "how many there are", Allowed: "1 to 1000"}, sections[1].Keys[0])
	assert.Equal(t, strictyaml.Key{Name: "pilot", Doc: "who brings ships in", Section: "berths.pilot"}, sections[1].Keys[5])
	assert.Equal(t, "ships", sections[0].Keys[8].Section, "the master is as the ships are")
	assert.True(t, sections[3].List)
}

func TestDurationText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1: "1ns", 200 * time.Millisecond: "200ms", 10 * time.Second: "10s", 90 * time.Second: "1m30s", 20 * time.Minute: "20m",
		time.Hour: "1h", 61 * time.Minute: "1h1m", time.Hour + time.Second: "1h0m1s", 100 * time.Minute: "1h40m", 720 * time.Hour: "720h", -20 * time.Minute: "-20m",
	} {
		assert.Equal(t, want, strictyaml.DurationText(d))
		again, err := time.ParseDuration(strictyaml.DurationText(d))
		require.NoError(t, err)
		assert.Equal(t, d, again)
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "h.yaml")
	require.NoError(t, os.WriteFile(path, []byte("name: x\n"), 0o600))
	data, err := strictyaml.ReadFile(path, "a harbour")
	require.NoError(t, err)
	assert.Equal(t, "name: x\n", string(data))
	for path, want := range map[string]string{
		dir:                             ": this is a directory; give a harbour",
		filepath.Join(dir, "none.yaml"): ": there is no such file; give a harbour",
		os.DevNull:                      ": this is not a regular file; give a harbour",
	} {
		_, err := strictyaml.ReadFile(path, "a harbour")
		assert.EqualError(t, err, path+want)
	}
	_, err = strictyaml.ReadAll("standard input", failing{})
	assert.EqualError(t, err, "standard input: cannot be read: permission denied; check its permissions")
}

type failing struct{}

func (failing) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: "/dev/stdin", Err: fs.ErrPermission}
}

func TestFileReason(t *testing.T) {
	reason := errors.New("disk full")
	assert.Equal(t, reason, strictyaml.FileReason(&fs.PathError{Op: "write", Path: "x", Err: reason}))
	assert.Equal(t, reason, strictyaml.FileReason(&os.LinkError{Op: "rename", Old: "x", New: "y", Err: reason}))
	assert.Equal(t, reason, strictyaml.FileReason(reason))
}
