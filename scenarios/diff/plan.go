package diff

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/plans"
)

// valuesOf lists in what two plans differ: the name, the settings in their order, what is said of single jobs, the
// faults, and then all the rest.
func valuesOf(a, b *plans.Plan) []Value {
	list := []Value{}
	differ := func(key, a, b string, follows bool) {
		if a != b {
			list = append(list, Value{key, a, b, follows})
		}
	}
	differ("name", a.Name, b.Name, false)
	inA, inB := given(a), given(b)
	settingsB := b.Settings()
	for i, s := range a.Settings() {
		_, ownA := inA[s.Name]
		_, ownB := inB[s.Name]
		differ(s.Name, s.Text(), settingsB[i].Text(), !ownA && !ownB && strings.Contains(s.Name, "."))
	}
	for _, p := range []*plans.Plan{a, b} {
		for _, change := range p.Changes() {
			key := plans.NameOf(change)
			_, both := inA[key]
			if _, _, perJob := plans.PerJobOf(key); perJob && (p == a || !both) {
				differ(key, inA[key], inB[key], false)
			}
		}
	}
	list = append(list, faultsOf(a, b)...)
	for _, v := range restOf("", treeOf(a), treeOf(b), func(key string) bool {
		_, setting := a.Setting(key)
		_, _, perJob := plans.PerJobOf(key + ".")
		return setting || perJob || slices.Contains(told, key)
	}) {
		differ(v.Key, v.A, v.B, false)
	}
	return list
}

// told are the keys of a plan that are compared otherwise, or that repeat what others say.
var told = []string{"version", "name", "story", "faults", "expect.changed", "expect.documented", "expect.hardened"}

// given are the settings that a plan gives, beyond its preset.
func given(p *plans.Plan) map[string]string {
	m := map[string]string{}
	for _, change := range p.Changes() {
		key, value, _ := strings.Cut(change, "=")
		m[key] = value
	}
	return m
}

// faultsOf pairs the faults that only one plan has, in their order.
func faultsOf(a, b *plans.Plan) (list []Value) {
	var onlyA []string
	var onlyB []string
	for _, f := range b.Faults {
		onlyB = append(onlyB, f.String())
	}
	for _, f := range a.Faults {
		if i := slices.Index(onlyB, f.String()); i >= 0 {
			onlyB = slices.Delete(onlyB, i, i+1)
		} else {
			onlyA = append(onlyA, f.String())
		}
	}
	for i := range max(len(onlyA), len(onlyB)) {
		v := Value{Key: "fault"}
		if i < len(onlyA) {
			v.A = onlyA[i]
		}
		if i < len(onlyB) {
			v.B = onlyB[i]
		}
		list = append(list, v)
	}
	return list
}

type tree = map[string]json.RawMessage

func treeOf(v any) tree {
	data, _ := json.Marshal(v) // a plan has nothing that JSON cannot hold
	return branches(data)
}

// branches are the keys of an object, and nil of anything else.
func branches(data json.RawMessage) (t tree) {
	if bytes.HasPrefix(data, []byte("{")) {
		_ = json.Unmarshal(data, &t) // it is one
	}
	return t
}

// restOf walks down two trees, and leaves out what is compared otherwise.
func restOf(prefix string, a, b tree, skip func(string) bool) (list []Value) {
	all := maps.Clone(a)
	if all == nil {
		all = tree{}
	}
	maps.Copy(all, b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		key := prefix + name
		if skip(key) {
			continue
		}
		if x, y := branches(a[name]), branches(b[name]); x != nil || y != nil {
			list = append(list, restOf(key+".", x, y, skip)...)
		} else {
			list = append(list, Value{Key: key, A: string(a[name]), B: string(b[name])})
		}
	}
	return list
}
