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

// A List is a list of a document whose elements are made as they are written. It
// stands where the document has an empty one of its name, in the first place that is one.
type List struct {
	Key      string
	Elements iter.Seq2[any, error]
}

// longList is how many elements a list has at least that is written one by one.
const longList = 256

// WriteDocument writes a document as indented JSON. Long lists in it are written element
// by element: what that takes does not grow with them.
func WriteDocument(w io.Writer, document any, lists ...List) error {
	document, long := withoutLists(document)
	lists = append(lists, long...)
	b := bufio.NewWriterSize(w, 1<<16)
	var frame bytes.Buffer
	if err := indented(&frame, document, ""); err != nil {
		return err
	}
	rest := frame.Bytes()
	for len(lists) > 0 {
		// The lists are few; the next is the one that stands first.
		first, at := -1, len(rest)
		for i := range lists {
			key := fmt.Appendf(nil, "\n %q: []", lists[i].Key)
			if k := bytes.Index(rest[:at], key); k >= 0 {
				first, at = i, k+len(key)-len("[]")
			}
		}
		if first < 0 {
			return fmt.Errorf("the document has no empty list %q", lists[0].Key)
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

// writeList writes a list of the document, which its members are indented by a space in.
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
		if err := indented(&text, e, "  "); err != nil {
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

// indented writes a value without a line break behind it.
func indented(b *bytes.Buffer, v any, prefix string) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	e.SetIndent(prefix, " ")
	if err := e.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1)
	return nil
}

// withoutLists is a document with its long lists empty, and the lists.
func withoutLists(document any) (any, []List) {
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
