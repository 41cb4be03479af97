package keys_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"anesim/internal/network/keys"
	"anesim/loader/layer"
	"anesim/loader/lower"
	"anesim/loader/network/weights"
)

// lowerSizes lowers a layer of an operation without its weights.
func lowerSizes(o *keys.Operation, values map[string]string) error {
	l, err := o.Single(values)
	if err != nil {
		return err
	}
	w, err := weights.Sizes(l, 1)
	if err != nil {
		return err
	}
	_, err = lower.Sized(l.Lower, w)
	return err
}

// randomKeys returns random keys for a layer of an operation, with sizes up to a few powers of ten.
func randomKeys(r *rand.Rand, o *keys.Operation) map[string]string {
	values := map[string]string{}
	for _, k := range o.AllKeys() {
		size := func(most int) string { return strconv.Itoa(1 + r.IntN(most)) }
		switch k.Name {
		case "n":
			values["n"] = size(3)
			if o.Name == "matmul" || o.Name == "linear" {
				values["n"] = size(40000)
			}
		case "c", "cin", "cout", "m", "k", "h", "w":
			values[k.Name] = size([]int{16, 300, 3000, 40000}[r.IntN(4)])
			if k.Name == "k" && o.Name != "matmul" && o.Name != "linear" {
				values["k"] = size(40)
			}
		case "stride":
			values["stride"] = size(4)
		case "pad":
			values["pad"] = strconv.Itoa(r.IntN(40))
		case "axis":
			values["axis"] = []string{"c", "h", "w", "hw", "ch", "cw", "chw"}[r.IntN(7)]
		case "rhs":
			values["rhs"] = []string{"constant", "runtime"}[r.IntN(2)]
		case "tx", "ty":
			values[k.Name] = []string{"true", "false"}[r.IntN(2)]
		case "broadcast":
			if r.IntN(2) == 0 {
				values["broadcast"] = []string{"c", "h", "w", "hw", "chw", "n", "nhw"}[r.IntN(7)]
			}
		case "reps":
			values["reps"] = strings.Join([]string{size(2), size(3), size(300), size(3)}, "x")
		case "parts":
			values["parts"] = strings.Repeat("8+", r.IntN(60)) + "8"
			delete(values, "c")
		case "size":
			values["size"] = size(300)
		case "begin":
			values["begin"] = strconv.Itoa(r.IntN(300))
		}
	}
	if o.Name == "concat" {
		delete(values, "c")
	}
	return values
}

// TestNearestWorks holds that a refusal of each operation, of three with LONG=1, names a layer
// that is lowered, whose keys are the refused one's but for those it names.
func TestNearestWorks(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 100))
	each, tries, most := 1, 150, 50
	if os.Getenv("LONG") != "" {
		each, most = 3, 100
	}
	refused := 0
	for _, o := range keys.Operations() {
		n := 0
		for range tries {
			values := randomKeys(r, &o)
			if err := lowerSizes(&o, values); err == nil || !keys.Refused(err) {
				continue
			}
			n++
			near := maps.Clone(values)
			keys := o.Nearest(values, layer.Memories{})
			if len(keys) == 0 {
				t.Errorf("%s %v: no layer near it is found", o.Name, values)
			}
			for _, k := range keys {
				key, v, _ := strings.Cut(k, "=")
				near[key] = v
			}
			if err := lowerSizes(&o, near); err != nil {
				t.Errorf("%s %v with %v: %v", o.Name, values, keys, err)
			}
			if n == each {
				break
			}
		}
		if n == 0 {
			t.Errorf("%s: none of %d layers is refused", o.Name, tries)
		}
		refused += n
	}
	t.Logf("%d refusals", refused)
	if refused < most {
		t.Errorf("%d refusals, want %d", refused, most)
	}
}

// A nearest size that is smaller than the stated limit allows comes with the limit that
// decides it.
func TestRefuseNamesTheBound(t *testing.T) {
	for _, tc := range []struct {
		op     string
		values map[string]string
		want   string // the end of the message
	}{
		{"logical_not", map[string]string{"c": "100000", "w": "64"}, "; with c=30720 it works; c=30721 exceeds another limit: size in bytes of a tile in L2 is 1966144; want at most 1966080"},
		{"add", map[string]string{"c": "100000"}, "; with c=65536 it works"}, // the stated limit decides
		{"relu", map[string]string{"c": "300000"}, "; with c=65536 it works"},
		{"transpose", map[string]string{"c": "70000", "w": "70000"}, "; with c=16384 w=16384 it works"}, // two sizes
	} {
		o, _ := keys.Find(tc.op)
		err := lowerSizes(o, tc.values)
		if !keys.Refused(err) {
			t.Fatalf("%s %v: %v, want a refusal", tc.op, tc.values, err)
		}
		refused := o.Refuse(tc.values, layer.Memories{}, err)
		if !strings.HasSuffix(refused.Error(), tc.want) || (refused.Bound != nil) != strings.Contains(tc.want, "another") {
			t.Errorf("%s %v: %v\nwant it to end in %q", tc.op, tc.values, refused, tc.want)
		}
	}
}
