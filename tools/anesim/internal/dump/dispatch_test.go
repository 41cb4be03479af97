package dump

import (
	"strings"
	"testing"

	"anesim/loader/e5"
)

// Names are spelled as in the documents of other commands, which do not escape for HTML.
func TestDispatchNamesInJSON(t *testing.T) {
	var b strings.Builder
	if err := WriteDispatch(&b, "-", &e5.Program{Symbols: []string{"a<b"}}, nil, Options{JSON: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"a<b"`) {
		t.Errorf("got %s", b.String())
	}
}
