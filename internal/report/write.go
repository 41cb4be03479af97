package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"reflect"
	"strings"
)

// A List supplies the elements of a list in a JSON report one by one, as they are written.
// [WriteDocument] writes them in place of the first empty list under Key.
type List struct {
	Key      string
	Elements iter.Seq2[any, error]
}

// longList is the length from which a list of a document is written element by element.
const longList = 256

// WriteDocument writes a report as indented JSON. It fills an empty list in the report with the
// elements of each List in lists, and returns an error if the report has no empty list under the
// List's Key. The elements of long lists are written one by one, to save memory.
func WriteDocument(w io.Writer, document any, lists ...List) error {
	document, long := extractLongLists(document)
	lists = append(lists, long...)
	b := bufio.NewWriterSize(w, 1<<16)
	var frame bytes.Buffer
	if err := writeIndented(&frame, document, ""); err != nil {
		return err
	}
	rest := frame.Bytes()
	for len(lists) > 0 {
		// The next list is the one whose place comes first. There are only a few lists.
		first, at := -1, len(rest)
		for i := range lists {
			key := fmt.Appendf(nil, "\n %q: []", lists[i].Key)
			if k := bytes.Index(rest[:at], key); k >= 0 {
				first, at = i, k+len(key)-len("[]")
			}
		}
		if first < 0 {
			return fmt.Errorf("document has no empty list for key %q", lists[0].Key)
		}
		b.Write(rest[:at])
		if err := writeList(b, lists[first].Elements); err != nil {
			return err
		}
		rest = rest[at+len("[]"):]
		lists = append(lists[:first:first], lists[first+1:]...)
	}
	b.Write(rest)
	b.WriteByte('\n')
	return b.Flush()
}

// writeList writes the elements of a list as JSON, each on its own lines, with the indentation of a
// list in a report.
func writeList(b *bufio.Writer, elements iter.Seq2[any, error]) error {
	b.WriteByte('[')
	var text bytes.Buffer
	any := false
	for e, err := range elements {
		if err != nil {
			return err
		}
		if any {
			b.WriteByte(',')
		}
		any = true
		text.Reset()
		if err := writeIndented(&text, e, "  "); err != nil {
			return err
		}
		b.WriteString("\n  ")
		if _, err := b.Write(text.Bytes()); err != nil {
			return err
		}
	}
	if any {
		b.WriteString("\n ")
	}
	b.WriteByte(']')
	return nil
}

// writeIndented writes v as indented JSON without a newline at the end.
func writeIndented(b *bytes.Buffer, v any, prefix string) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	e.SetIndent(prefix, " ")
	if err := e.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1)
	return nil
}

// extractLongLists returns a copy of a document without its long lists, and these lists. A list is
// long if it has at least [longList] elements that are structs; it is empty in the copy.
func extractLongLists(document any) (any, []List) {
	v := reflect.Indirect(reflect.ValueOf(document))
	if v.Kind() != reflect.Struct {
		return document, nil
	}
	var lists []List
	frame := reflect.New(v.Type()).Elem()
	frame.Set(v)
	for i := range v.NumField() {
		list := v.Field(i)
		name, _, omit := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if omit || list.Kind() != reflect.Slice || list.Type().Elem().Kind() != reflect.Struct || list.Len() < longList {
			continue
		}
		frame.Field(i).Set(reflect.MakeSlice(list.Type(), 0, 0))
		lists = append(lists, List{name, func(yield func(any, error) bool) {
			for k := range list.Len() {
				if !yield(list.Index(k).Addr().Interface(), nil) {
					return
				}
			}
		}})
	}
	if lists == nil {
		return document, nil
	}
	return frame.Addr().Interface(), lists
}
