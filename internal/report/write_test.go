package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

type lists struct {
	Header
	A []listPart `json:"a"`
	N []int      `json:"n"`
	B []listPart `json:"b"`
	C []listPart `json:"c,omitempty"`
	T string     `json:"t"`
}

type listPart struct {
	X int     `json:"x"`
	Y []int   `json:"y"`
	S string  `json:"s"`
	F float64 `json:"f,omitempty"`
}

// A document is written as the library writes it, however long its lists are.
func TestWriteDocument(t *testing.T) {
	parts := func(n int) []listPart {
		list := make([]listPart, n)
		for i := range list {
			list[i] = listPart{i, make([]int, i%3), `<"b": []` + strings.Repeat("&", i%4), float64(i) / 3}
		}
		return list
	}
	for _, n := range [...]int{0, 1, longList - 1, longList, longList + 1, 3 * longList} {
		for _, m := range [...]int{0, longList} {
			d := lists{NewHeader(), parts(n), []int{1, 2}, parts(m), parts(m), `"a": []`}
			var want, got bytes.Buffer
			e := json.NewEncoder(&want)
			e.SetEscapeHTML(false)
			e.SetIndent("", " ")
			if err := e.Encode(d); err != nil {
				t.Fatal(err)
			}
			if err := WriteDocument(&got, &d); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want.Bytes()) {
				t.Errorf("%d and %d parts: %d bytes, the library's are %d", n, m, got.Len(), want.Len())
			}
		}
	}
}

// An element that cannot be made or written is an error.
func TestWriteDocumentErrors(t *testing.T) {
	broken := errors.New("broken")
	var b bytes.Buffer
	list := List{"a", func(yield func(any, error) bool) { _ = yield(1, nil) && yield(nil, broken) }}
	if err := WriteDocument(&b, &lists{A: []listPart{}}, list); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if err := WriteDocument(&b, &lists{}, list); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("error %v", err)
	}
	full := writerFunc(func([]byte) (int, error) { return 0, broken })
	long := lists{A: make([]listPart, 10*longList)}
	if err := WriteDocument(full, &long); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
