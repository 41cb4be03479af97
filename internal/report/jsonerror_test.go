package report

import (
	"encoding/json"
	"strings"
	"testing"
)

// An error of JSON names the kind of the file and the place, and none of the decoder's own words.
func TestDescribeJSONError(t *testing.T) {
	for data, want := range map[string]string{
		"":                      "not a baseline: the file is empty",
		" \n":                   "not a baseline: the file is empty",
		"# text":                `not a baseline: want JSON that begins with {, found "#"`,
		"[1]":                   `not a baseline: want JSON that begins with {, found "["`,
		`{"cycles": 1`:          "byte 12: the file is cut off; want the whole of a baseline",
		`{"cycles": x}`:         `byte 11: not a baseline: unexpected "x"`,
		`{"cycles": "many"}`:    `not a baseline: found string as "cycles"`,
		`{"cycles": 1, "q": 2}`: `not a baseline: unknown field "q"`,
	} {
		d := json.NewDecoder(strings.NewReader(data))
		d.DisallowUnknownFields()
		err := d.Decode(&struct {
			Cycles int `json:"cycles"`
		}{})
		if err == nil {
			t.Errorf("%q: no error", data)
			continue
		}
		if got := DescribeJSONError("a baseline", []byte(data), err).Error(); !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", data, got, want)
		}
	}
}
