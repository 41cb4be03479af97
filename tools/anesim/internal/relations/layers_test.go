package relations

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"anesim/internal/network/keys"
)

// keyValues lists values that a random layer may give a key of any operation. An empty value
// leaves the key out.
var keyValues = map[string][]string{
	"n":         {"", "", "", "2", "3"},
	"cin":       {"1", "3", "4", "16", "24", "64"},
	"cout":      {"1", "4", "6", "16", "32", "72"},
	"c":         {"1", "2", "3", "8", "16", "33", "64"},
	"h":         {"1", "2", "5", "8", "14", "28"},
	"w":         {"1", "3", "4", "8", "17", "32"},
	"m":         {"1", "4", "7", "16", "33"},
	"k":         {"", "1", "2", "3", "5", "16"},
	"kh":        {"", "", "", "1", "3"},
	"kw":        {"", "", "", "1", "2"},
	"stride":    {"", "", "1", "2"},
	"sy":        {"", "", "", "2"},
	"sx":        {"", "", "", "2"},
	"pad":       {"", "", "same", "valid", "1", "1,0,2,1"},
	"dilation":  {"", "", "", "2"},
	"groups":    {"", "", "", "2", "cin"},
	"bias":      {"", "true"},
	"act":       {"", "", "relu", "sigmoid", "gelu"},
	"rhs":       {"", "constant", "runtime"},
	"tx":        {"", "", "true"},
	"ty":        {"", "", "true"},
	"release":   {"", "", "2023", "2026"},
	"first":     {"", "", "output"},
	"broadcast": {"", "", "", "w", "hw", "c", "nhw"},
	"second":    {"", "runtime", "constant", "scalar"},
	"value":     {"", "0.5", "2"},
	"eps":       {"", "0.001"},
	"alpha":     {"", "0.2"},
	"low":       {"", "-0.5"},
	"high":      {"", "0.5"},
	"kind":      {"", "max", "avg"},
	"axis":      {"", "c", "h", "w"},
	"axes":      {"", "c", "hw", "w"},
	"parts":     {"2+3", "4+4", "1+2+3"},
	"reps":      {"1x2x1x1", "1x1x2x3"},
	"size":      {"1", "2"},
	"start":     {"", "1"},
	"fill":      {"", "edge", "zero"},
}

// operations lists the names of all operations, sorted.
func operations() []string {
	names := keys.Names()
	slices.Sort(names)
	return names
}

// randomLayer returns the words of a layer of the named operation with random keys, such as
// "conv cin=4 h=8 w=3 cout=16 k=3". Some of them are refused.
func randomLayer(r *rand.Rand, name string) string {
	words := []string{name}
	op, _ := keys.Find(name)
	for _, k := range op.AllKeys() {
		values := keyValues[k.Name]
		if len(values) == 0 {
			continue
		}
		// A matrix product's n is its columns and its k the values summed over.
		if name == "matmul" || name == "linear" {
			switch k.Name {
			case "n", "k":
				values = keyValues["cin"]
			case "c":
				values = keyValues["n"]
			}
		}
		if v := values[r.IntN(len(values))]; v != "" {
			words = append(words, fmt.Sprintf("%s=%s", k.Name, v))
		}
	}
	return strings.Join(words, " ")
}
