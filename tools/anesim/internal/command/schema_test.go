package command

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anesim/internal/check"
	"anesim/internal/explain"
	"anesim/internal/probe"
	"anesim/internal/report"
	"anesim/tools/anesim/internal/accuracy"
	"anesim/tools/anesim/internal/dump"
	"anesim/tools/anesim/internal/paper"
)

// schemaSections are the documents that docs/json.md describes, by its headings.
var schemaSections = map[string]reflect.Type{
	"`run`, `layer`": reflect.TypeFor[report.Run](),
	"`model`":        reflect.TypeFor[report.Network](),
	"`explain`":      reflect.TypeFor[explain.Explanation](),
	"`check`":        reflect.TypeFor[check.Baseline](),
	"`lint`":         reflect.TypeFor[jsonLint](),
	"`paper`":        reflect.TypeFor[paper.Document](),
	"`probe read`":   reflect.TypeFor[probe.Document](),
	"`load`":         reflect.TypeFor[report.Load](),
	"`dump`":         reflect.TypeFor[dump.Document](),

	"`dump` of a dispatch descriptor": reflect.TypeFor[dump.Dispatch](),
	"`accuracy`":                      reflect.TypeFor[accuracy.Document](),
	"`accuracy --networks`":           reflect.TypeFor[accuracy.NetworksDocument](),
}

// alike matches the meaning of a row such as x.**, which has the names that another object has.
var alike = regexp.MustCompile("as `([^`]*)`(?: of `run`)?")

// documentedKeys returns the names in the table of a section and in the table for all commands, with braces
// expanded. The keys of rows like x.** have the value false: the other object may have more names than x.
func documentedKeys(t *testing.T, page, section string) map[string]bool {
	t.Helper()
	const run = "`run`, `layer`"
	keys := map[string]bool{}
	type same struct{ key, as, section string }
	var later []same
	for _, s := range []string{"Every command", section} {
		_, text, ok := strings.Cut(page, "\n## "+s+"\n")
		if !ok {
			t.Fatalf("docs/json.md has no section %q", s)
		}
		text, _, _ = strings.Cut(text, "\n## ")
		for line := range strings.Lines(text) {
			cells := strings.Split(line, "|")
			if len(cells) < 4 {
				continue
			}
			for _, m := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(cells[1], -1) {
				for _, key := range braces(m[1]) {
					if object, ok := strings.CutSuffix(key, ".**"); ok {
						as := alike.FindStringSubmatch(cells[2])
						if as == nil {
							t.Fatalf("%s: %s: want a meaning like \"as `x` of `run`\"", s, key)
						}
						of := section
						if strings.HasSuffix(as[0], " of `run`") {
							of = run
						}
						later = append(later, same{object, as[1], of})
						continue
					}
					if keys[key] {
						t.Errorf("%s: %s stands twice", s, key)
					}
					keys[key] = true
				}
			}
		}
	}
	for _, x := range later {
		from, found := keys, false
		if x.section != section {
			from = documentedKeys(t, page, x.section)
		}
		for _, key := range slices.Sorted(maps.Keys(from)) {
			if rest, ok := strings.CutPrefix(key, x.as); ok && rest != "" && (rest[0] == '.' || rest[0] == '[') {
				found = true
				if _, ok := keys[x.key+rest]; !ok {
					keys[x.key+rest] = false
				}
			}
		}
		if !found {
			t.Errorf("%s: %s.** is as %s, below which nothing is documented", section, x.key, x.as)
		}
	}
	return keys
}

// braces expands a name of the form x.{a,b} to x.a and x.b.
func braces(key string) []string {
	before, rest, ok := strings.Cut(key, "{")
	if !ok {
		return []string{key}
	}
	list, after, _ := strings.Cut(rest, "}")
	var keys []string
	for name := range strings.SplitSeq(list, ",") {
		keys = append(keys, braces(before+name+after)...)
	}
	return keys
}

// typeKeys adds the names that the JSON of type x can have to keys. A list is named by its
// elements, a list of numbers by itself.
func typeKeys(x reflect.Type, path string, keys map[string]bool) {
	switch x.Kind() {
	case reflect.Pointer:
		typeKeys(x.Elem(), path, keys)
		return
	case reflect.Struct:
		for i := range x.NumField() {
			f := x.Field(i)
			if f.Anonymous {
				typeKeys(f.Type, path, keys)
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" || !f.IsExported() {
				continue // not in the JSON
			}
			if path != "" {
				name = path + "." + name
			}
			add(f.Type, name, keys)
		}
	case reflect.Map:
		add(x.Elem(), path+".*", keys)
	}
}

// add adds a name, and those below it.
func add(x reflect.Type, name string, keys map[string]bool) {
	switch {
	case x == reflect.TypeFor[report.Counters]():
		keys[name], keys[name+".*"] = true, true
	case x == reflect.TypeFor[dump.Object](): // its members are seen in real output
		keys[name] = true
	case x.Kind() == reflect.Slice && x.Elem().Kind() == reflect.Struct:
		keys[name+"[]"] = true
		typeKeys(x.Elem(), name+"[]", keys)
	case x.Kind() == reflect.Interface:
		keys[name] = true
	default:
		keys[name] = true
		typeKeys(x, name, keys)
	}
}

// The page has every name that the documents' types have, and no other but those below
// members whose names are data.
func TestSchemaPageIsThatOfTheTypes(t *testing.T) {
	page := schemaPage(t)
	for section, x := range schemaSections {
		want := map[string]bool{}
		typeKeys(x, "", want)
		got := documentedKeys(t, page, section)
		// A list whose elements' members are documented needs no line of its own.
		for _, key := range slices.Sorted(maps.Keys(want)) {
			_, has := got[key]
			if list, ok := strings.CutSuffix(key, "[]"); ok && !has && hasBelow(got, list+"[].") {
				continue
			}
			if !has {
				t.Errorf("%s: %s is not documented", section, key)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(got)) {
			if got[key] && !want[key] && !strings.Contains(key, "*") {
				t.Errorf("%s: no document has %s", section, key)
			}
		}
	}
}

func hasBelow(keys map[string]bool, prefix string) bool {
	for k := range keys {
		if strings.HasPrefix(k, prefix) {
			return true
		}
	}
	return false
}

// Every name of real output is documented, and every name with a star is met in it.
func TestSchemaPageOfRealOutput(t *testing.T) {
	t.Parallel()
	page := schemaPage(t)
	net := writeFile(t, "net.yaml", []byte("inputs: {x: {c: 16, h: 8, w: 8}, y: {w: 20000}}\nlayers:\n"+
		"- {name: a, op: conv, cout: 16, k: 3, stride: 2, pad: 1, act: relu, from: x}\n- {name: flat, op: reshape, h: 32, w: 8}\n- {name: b, op: relu}\n- {name: c, op: pool, k: 1, from: y}\n"))
	for section, lines := range map[string][][]string{
		"`run`, `layer`": {
			{"run", "--constants", "--host", "linux", "--repeat", "2", "--idle", "1s"}, {"run", "--gate-tiles", "0-31"},
			{"layer", "add", "c=4", "--state", "y=z", "--repeat", "3"},
			{"layer", "conv", "cin=16", "cout=16", "h=8", "w=8", "k=3", "stride=2", "pad=1"},
		},
		"`model`":      {{"model", net, "--values", "--emit", filepath.Join(t.TempDir(), "net.hwx")}, {"model", net, "--gate-tiles", "0-31"}, {"model", net, "--compute", "all"}},
		"`explain`":    {{"explain", net}, {"explain", example(t, "add")}, {"explain", "--layer", "softmax c=64 h=8 w=8"}},
		"`lint`":       {{"lint", net, example(t, "add")}, {"lint", lintable(t, "L2.Src2Base              0x200", "L2.Src2Base 0x240")}},
		"`paper`":      {{"paper"}},
		"`probe read`": {{"probe", "read", runProbe(t, "m1,CoarseSums=0")}},
		"`load`":       {{"load", filepath.Join("..", "..", "examples", "load.yaml")}},
		"`dump`":       {{"dump", example(t, "identity")}, {"dump", example(t, "add")}, {"dump", writeFile(t, "captured.regs", []byte(capture))}},
		"`accuracy`":   {{"accuracy"}},

		"`accuracy --networks`": {{"accuracy", "--networks"}},
	} {
		documented := documentedKeys(t, page, section)
		met := map[string]bool{}
		for _, line := range lines {
			out, _, code := invoke(append(line, "--json")...)
			var v any
			if err := json.Unmarshal([]byte(out), &v); err != nil {
				t.Fatalf("%q: exit %d: %v", line, code, err)
			}
			outputKeys(v, "", func(key string) bool {
				key = starred(documented, key)
				if key == "" {
					return false
				}
				met[key] = true
				return true
			}, func(key string) { t.Errorf("%q: %s is not documented", line, key) })
		}
		for key, own := range documented {
			if own && strings.Contains(key, "*") && !met[key] {
				t.Errorf("%s: no output has %s", section, key)
			}
		}
	}
}

// outputKeys calls known for every name in a JSON document, and missing for those for which known
// returns false.
func outputKeys(v any, path string, known func(key string) bool, missing func(key string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			key := name
			if path != "" {
				key = path + "." + name
			}
			at := key
			if list, ok := v[name].([]any); ok && len(list) > 0 {
				if _, ok := list[0].(map[string]any); ok {
					at = key + "[]"
				}
			}
			if !known(key) && !known(key+"[]") && !known(at) {
				missing(key)
				continue
			}
			outputKeys(v[name], key, known, missing)
		}
	case []any:
		for _, x := range v {
			outputKeys(x, path+"[]", known, missing)
		}
	}
}

// starred returns the documented name that describes a key of a document, with a star for each part
// of the key that is data. It returns "" if there is none. The members of a list's elements also
// document the list.
func starred(documented map[string]bool, key string) string {
	if _, ok := documented[key]; ok {
		return key
	}
	if hasBelow(documented, key+".") && strings.HasSuffix(key, "[]") {
		return key
	}
	for doc := range documented {
		if !strings.Contains(doc, "*") {
			continue
		}
		// A name that is data, such as Group.Register or Group.Register[3].
		const data = `[^.\[\]]+(\[\d+\])?(\.[A-Z][^.\[\]]*(\[\d+\])?)?`
		if regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(doc), `\*`, data) + "$").MatchString(key) {
			return doc
		}
	}
	return ""
}

func schemaPage(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
