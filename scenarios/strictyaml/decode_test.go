package strictyaml_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// harbour has a field of every kind that there is.
type harbour struct {
	Version int                   `yaml:"version"`
	Name    string                `yaml:"name,required,nonempty" like:"north"`
	Note    string                `yaml:"note,omitempty"`
	Berths  berths                `yaml:"berths,omitempty"`
	Slow    map[int]time.Duration `yaml:"slow,omitempty" min:"1ns" max:"24h"`
	Labels  map[string]string     `yaml:"labels,nonempty"`
	Cargo   json.RawMessage       `yaml:"cargo"`
	Ships   []ship                `yaml:"ships,omitempty"`
	Master  *ship                 `yaml:"master"`
	Opens   int64                 `yaml:"opens,instant"`
	Later   strictyaml.Node       `yaml:"later"`
	Seed    uint64                `yaml:"seed"`
	unread  int
}

var _ = harbour{unread: 0} // a field that is not exported is no key

type berths struct {
	Count int           `yaml:"count" min:"1" max:"1000" doc:"how many there are"`
	Every time.Duration `yaml:"every" min:"1ms" max:"1h"`
	Share float64       `yaml:"share" min:"0" max:"1"`
	Open  bool          `yaml:"open"`
	Order string        `yaml:"order" oneof:"first-come,by-size"`
	Pilot pilot         `yaml:"pilot" doc:"who brings ships in"`
}

type pilot struct {
	Boats int           `yaml:"boats" min:"0" max:"9" doc:"how many boats they have"`
	Rest  time.Duration `yaml:"rest" min:"0s" max:"1h"`
}

type ship struct {
	ID    string   `yaml:"id,required"`
	Ports []string `yaml:"ports" oneof:"north,south"`
}

var kind = strictyaml.Kind{What: "a harbour", Has: "a name", Version: 1}

func read(text string) (h harbour, err error) {
	h.Berths = berths{Count: 3, Every: time.Second, Order: "first-come"}
	err = kind.Read("h.yaml", []byte(text), &h, func() *strictyaml.Error { return strictyaml.Check(&h) })
	return h, err
}

func TestReadLaysKeysOverWhatIsThere(t *testing.T) {
	h, err := read(`
name: north
note: >
  Two
  lines.
berths: {count: 1_000, share: 0.5, open: true, pilot: {boats: 2}}
slow: {3: 15m}
labels:
  zone: a
  script: |
    one
    two
cargo: {n: 1e3, big: 123456789012345678901234567890, l: [1, [], {}, ~, true], t: "a<b"}
ships:
  - id: one
    ports: [north]
master: {id: two}
opens: 2030-01-01T00:00:00Z
seed: 18446744073709551615
`)
	require.NoError(t, err)
	assert.Equal(t, harbour{
		Name: "north", Note: "Two lines.",
		Berths: berths{Count: 1000, Every: time.Second, Share: 0.5, Open: true, Order: "first-come", Pilot: pilot{Boats: 2}},
		Slow:   map[int]time.Duration{3: 15 * time.Minute},
		Labels: map[string]string{"zone": "a", "script": "one\ntwo\n"},
		Cargo:  json.RawMessage(`{"n":1e3,"big":123456789012345678901234567890,"l":[1,[],{},null,true],"t":"a<b"}`),
		Ships:  []ship{{ID: "one", Ports: []string{"north"}}}, Master: &ship{ID: "two"},
		Opens: 1893456000000, Seed: 1<<64 - 1,
	}, h)
}

func TestReadTakesOddButLegalYAML(t *testing.T) {
	for _, text := range []string{
		"---\nname: x\n",
		"\ufeffname: x\n",
		"# a comment\n\nname: x # another\r\n",
		"name: x\nships:\n  # - all commented out\n",
		"name: x\nberths:\nlabels:\n",
		`{name: x, berths: {count: 10}, opens: 7}`,
		"name: x\nslow: {}\nships: []\n",
		"name: x\nberths:\n    every: '200ms'\n",
		"name: x\nberths: {pilot: {rest: 0}}\n",
		"version: 1\nname: x\n",
	} {
		_, err := read(text)
		assert.NoError(t, err, "%q", text)
	}
}

// Every refusal is one line that says where, what and what would be right.
func TestReadRefuses(t *testing.T) {
	const file = "this is longer than a harbour can be; a harbour has at most 1024 KiB"
	for _, c := range []struct{ name, text, want string }{
		{"unknown key", "name: x\nshops: {}\n", `h.yaml:2:1: unknown key "shops" in a harbour (did you mean "ships"?); known are version, name, note, berths, slow, labels, cargo, ships, master, opens, later, seed`},
		{"unknown key below", "name: x\nberths:\n  cuont: 3\n", `h.yaml:3:3: unknown key "cuont" in berths (did you mean "count"?); known are count, every, share, open, order, pilot`},
		{"unknown key of an entry", "name: x\nships: [{id: a, port: []}]\n", `h.yaml:2:17: unknown key "port" in ships[0] (did you mean "ports"?); known are id, ports`},
		{"field without a key", "name: x\nunread: 1\n", `h.yaml:2:1: unknown key "unread" in a harbour`},
		{"key that is a number", "1: x\n", `h.yaml:1:1: unknown key "1" in a harbour`},
		{"merge key", "name: x\n<<: {seed: 1}\n", `h.yaml:2:1: unknown key "<<"`},
		{"key that is missing", "note: x\n", "h.yaml:1:1: a harbour has no name; add it"},
		{"key that is missing below", "name: x\nships:\n  - ports: [north]\n", "h.yaml:3:5: ships[0] has no id; add it"},
		{"empty text", "name: ''\n", "h.yaml:1:7: name is empty; give it a value, or leave the key out"},
		{"empty text of a mapping", "name: x\nlabels: {a: ''}\n", "h.yaml:2:13: labels.a is empty"},
		{"text for a number", "name: x\nberths: {count: many}\n", `h.yaml:2:17: berths.count is "many", not an integer; give 1 to 1000`},
		{"quoted number", "name: x\nberths: {count: \"5\"}\n", `h.yaml:2:17: berths.count is "5", which is text; give 1 to 1000, without quotes`},
		{"fraction", "name: x\nberths: {count: 1.5}\n", `h.yaml:2:17: berths.count is "1.5", not an integer`},
		{"exponent", "name: x\nberths: {count: 1e12}\n", `h.yaml:2:17: berths.count is "1e12", not an integer`},
		{"too many", "name: x\nberths: {count: 1000000000000}\n", `h.yaml:2:17: berths.count is 1000000000000, out of range; give 1 to 1000`},
		{"beyond any integer", "name: x\nberths: {count: -1000000000000000000000000000000}\n", `h.yaml:2:17: berths.count is "-1000000000000000000000000000000", out of range`},
		{"negative seed", "name: x\nseed: -1\n", `h.yaml:2:7: seed is "-1", out of range; give 0 to 18446744073709551615`},
		{"mapping for a number", "name: x\nberths: {count: {a: 1}}\n", `h.yaml:2:17: berths.count is a mapping; give 1 to 1000`},
		{"number without a value", "name: x\nberths:\n  count:\n", `h.yaml:3:10: berths.count has no value; give 1 to 1000, or leave the key out`},
		{"null for text", "name:\n", `h.yaml:1:7: name has no value; give text such as north, or leave the key out`},
		{"null for a pointer", "name: x\nmaster:\n", `h.yaml:2:9: master has no value; give keys such as id, ports, or leave the key out`},
		{"null for any value", "name: x\ncargo:\n", `h.yaml:2:8: cargo has no value; give one, or leave the key out`},
		{"number for a mapping", "name: x\nberths: 3\n", `h.yaml:2:9: berths is not a mapping; give keys such as count, every, share`},
		{"mapping for a list", "name: x\nships: {on: 1}\n", `h.yaml:2:8: ships is not a list; write it as a list, each entry after a dash`},
		{"word for an entry", "name: x\nships: [a]\n", `h.yaml:2:9: ships[0] is not a mapping; give keys such as id, ports`},
		{"list for a mapping of numbers", "name: x\nslow: [1]\n", `h.yaml:2:7: slow is not a mapping; give a mapping such as {3: 15m}`},
		{"list for a mapping of texts", "name: x\nlabels: [1]\n", `h.yaml:2:9: labels is not a mapping; give a mapping such as {zone: a}`},
		{"name for a number", "name: x\nslow: {job-3: 15m}\n", `h.yaml:2:8: "job-3" in slow is not a number`},
		{"number for a name", "name: x\nlabels: {3: a}\n", `h.yaml:2:10: "3" in labels is a key that is not text; write it in quotes`},
		{"number for text", "name: 5\n", `h.yaml:1:7: name is 5, which is not text; write "5", with quotes, if you mean it`},
		{"duration without unit", "name: x\nberths: {every: 5}\n", `h.yaml:2:17: berths.every is "5", without a unit; give a duration such as 200ms, 10s or 20m, from 1ms to 1h`},
		{"no duration", "name: x\nberths: {every: soon}\n", `h.yaml:2:17: berths.every is "soon", not a duration`},
		{"endless duration", "name: x\nberths: {every: 99999999h}\n", `h.yaml:2:17: berths.every is "99999999h", out of range`},
		{"minus endless duration", "name: x\nberths: {every: -9999999h1.5m}\n", `h.yaml:2:17: berths.every is "-9999999h1.5m", out of range`},
		{"negative duration", "name: x\nberths: {every: -1s}\n", `h.yaml:2:17: berths.every is -1s, out of range`},
		{"element out of range", "name: x\nslow: {3: 25h}\n", `h.yaml:2:11: slow.3 is 25h, out of range`},
		{"element that is not allowed", "name: x\nships: [{id: a, ports: [east]}]\n", `h.yaml:2:25: ships[0].ports[0] is "east"; it must be north or south`},
		{"no boolean", "name: x\nberths: {open: yes}\n", `h.yaml:2:16: berths.open is "yes", neither true nor false; give true or false`},
		{"no number", "name: x\nberths: {share: .nan}\n", `h.yaml:2:17: berths.share is ".nan", not a number`},
		{"choice", "name: x\nberths: {order: by-sise}\n", `h.yaml:2:17: berths.order is "by-sise"; it must be first-come or by-size (did you mean "by-size"?)`},
		{"no instant", "name: x\nopens: tomorrow\n", `h.yaml:2:8: opens is "tomorrow", which is no time; write it as 2030-01-02T15:04:05Z, or in Unix milliseconds`},
		{"what JSON cannot say", "name: x\ncargo: {a: [0x1F]}\n", `h.yaml:2:13: cargo.a[0] is 0x1F, which is no number of JSON`},
		{"key that JSON cannot say", "name: x\ncargo: {1: a}\n", `h.yaml:2:9: "1" in cargo is a key that is not text`},
		{"version", "version: 2\nsomething: new\n", `h.yaml:1:10: the harbour's format is version 2; this build reads version 1: use the build that wrote it`},
		{"version that is text", "version: one\n", `h.yaml:1:10: version is "one", not an integer`},
		{"duplicate key", "name: x\nname: y\n", `h.yaml:2:1: broken YAML: mapping key "name" already defined at [1:1]`},
		{"broken", "name: [x\n", `h.yaml:1:7: broken YAML: sequence end token ']' not found; mend the syntax`},
		{"colon in a text", "name: x\nnote: A storm: it is late\n", `h.yaml:2:14: broken YAML: the value of note has a colon in it; put a text with ": " in it into quotes`},
		{"a section under a text", "name: x\nnote: S.\n  berths:\n    count: 1\n", `h.yaml:3:3: broken YAML: note has a value already, and this line is indented as a part of it; indent it as its neighbours; or put the text into quotes, if that goes on here`},
		{"a key under a value", "name: x\nberths:\n  count: 1\n    every: 5s\n", `h.yaml:4:5: broken YAML: count has a value already, and this line is indented as a part of it; `},
		{"a key without its colon", "name: x\nberths:\n  count 1\n  every: 5s\n", `h.yaml:3:3: broken YAML: unexpected key name; mend the syntax here or nearby`},
		{"tab", "name: x\nberths:\n\tcount: 1\n", `h.yaml:3:1: broken YAML: found character`},
		{"anchor", "name: &a x\n", `h.yaml:1:7: name uses an anchor, an alias or a tag; a harbour is plain YAML`},
		{"tag", "name: !!str x\n", `h.yaml:1:7: name uses an anchor, an alias or a tag`},
		{"directive", "%YAML 1.2\n---\nname: x\n", `h.yaml:1:1: a harbour has no directives`},
		{"two documents", "name: x\n---\nname: y\n", `h.yaml:3:1: a second document begins here; a file holds one harbour`},
		{"list", "- name: x\n", `h.yaml:1:1: a harbour is not a mapping; give keys such as version, name, note`},
		{"empty", "", `h.yaml: this is empty; a harbour has at least a name`},
		{"comment only", "# nothing\n", `h.yaml: this is empty`},
		{"binary", "name: x\x00\x01", `h.yaml: this is not text; a harbour is YAML in UTF-8`},
		{"not UTF-8", "name: \xff\xfe", `h.yaml: this is not text`},
		{"long", "name: x # " + strings.Repeat("x", 2<<20), "h.yaml: " + file},
		{"deep", "name: x\nships: " + strings.Repeat("[", 1_000_000), `h.yaml:2:1: this line is too long, or its brackets nest too deep`},
		{"deep over lines", strings.Repeat("[\n", 500_000), `h.yaml:33:1: this line is too long, or its brackets nest too deep`},
		{"long line", "name: x # " + strings.Repeat("x", 100_000), `h.yaml:1:1: this line is too long`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(c.text)
			var e *strictyaml.Error
			require.ErrorAs(t, err, &e)
			assert.NotContains(t, err.Error(), "\n")
			assert.True(t, strings.HasPrefix(err.Error(), c.want), "%s", err.Error())
			if e.Line == 0 {
				assert.Empty(t, e.Excerpt())
			}
		})
	}
}

func TestExcerptMarksThePlace(t *testing.T) {
	_, err := read("name: x\nberths: {count: many}\n")
	var e *strictyaml.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "    2 | berths: {count: many}\n                        ^", e.Excerpt())
}

// An error of a check has the place of its path, or of the nearest key around it.
func TestLocate(t *testing.T) {
	d, err := kind.Parse("h.yaml", []byte("name: x\nships:\n  - id: a\n"))
	require.NoError(t, err)
	var h harbour
	require.NoError(t, d.Decode(&h))
	for path, want := range map[string]string{
		"name": "h.yaml:1:7: wrong", "ships[0].ports[1]": "h.yaml:3:5: wrong", "ships[1]": "h.yaml:3:3: wrong", "berths.count": "h.yaml: wrong", "": "h.yaml: wrong",
	} {
		assert.EqualError(t, d.Locate(&strictyaml.Error{Path: path, Message: "wrong"}), want, path)
	}
	other := &strictyaml.Error{File: "other.yaml", Path: "name", Message: "wrong"}
	assert.Equal(t, other, d.Locate(other))
	assert.NoError(t, d.Locate(nil))
	assert.True(t, d.Given("ships[0].id"))
	assert.False(t, d.Given("ships[0].ports"))
	assert.True(t, d.HasKey("name"))
	assert.False(t, d.HasKey("berths"))
}

func TestNode(t *testing.T) {
	later := func(text string) strictyaml.Node {
		t.Helper()
		h, err := read("name: x\nlater: " + text)
		require.NoError(t, err)
		return h.Later
	}
	assert.False(t, later("\n").Given())
	for written, want := range map[string]string{"7": "7", "a b": "a b", "'7'": "7", "true": "true", "1.10": "1.10", "|\n  a\n  b": "a b"} {
		text, err := later(written).Text()
		require.NoError(t, err)
		assert.Equal(t, want, text)
	}
	list := later("[1, ~, [2]]").List()
	require.Len(t, list, 3)
	_, err := list[1].Text()
	require.EqualError(t, err, "h.yaml:2:12: later[1] has no value; give one, or leave it out")
	_, err = list[2].Text()
	require.EqualError(t, err, "h.yaml:2:15: later[2] is a sequence; write a plain value")
	assert.Len(t, later("7").List(), 1, "a value by itself")

	_, err = later("[1]").Entries()
	require.EqualError(t, err, "h.yaml:2:8: later is not a mapping; give keys and their values")
	entries, err := later("{b: 1, a.c: 2}").Entries()
	require.NoError(t, err)
	require.Len(t, entries, 2)
	assert.Equal(t, []string{"b", "a.c"}, []string{entries[0].Name, entries[1].Name})
	require.EqualError(t, entries[1].Key.Locate(&strictyaml.Error{Message: "wrong"}), "h.yaml:2:15: wrong")
	require.EqualError(t, entries[1].Value.Locate(&strictyaml.Error{Message: "wrong"}), "h.yaml:2:20: wrong")

	inner := later("\n  name: y\n  berths: {count: 0}\n")
	assert.True(t, inner.IsMapping())
	d, err := inner.Document(kind)
	require.NoError(t, err)
	require.EqualError(t, d.Decode(&harbour{}), "h.yaml:4:19: berths.count is 0, out of range; give 1 to 1000")
	_, err = later("{version: 3}").Document(kind)
	require.ErrorContains(t, err, "h.yaml:2:18: the harbour's format is version 3")
}

// Whatever is read, it is a value or an error that says where the fault is.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"name: x\nslow: {3: 15m}\n", "name: x\ncargo: {a: [1e3]}\nlater: [a]\n", "a: &x [*x]\n", "? a\n: b\n", "ships: !!x {<<: 1}\n", "- |\n a\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := read(string(data))
		if err == nil {
			assert.True(t, h.Cargo == nil || json.Valid(h.Cargo), "%s", h.Cargo)
			return
		}
		var e *strictyaml.Error
		require.ErrorAs(t, err, &e)
		assert.True(t, strings.HasPrefix(e.Error(), "h.yaml:"), e)
		e.Excerpt()
	})
}
