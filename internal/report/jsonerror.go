package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// DescribeJSONError returns err, an error of decoding data as JSON, in words for a user who expected a file
// of the given kind, such as "a baseline", with its place.
func DescribeJSONError(kind string, data []byte, err error) error {
	var syntax *json.SyntaxError
	var value *json.UnmarshalTypeError
	switch text := bytes.TrimLeft(data, " \t\r\n"); {
	case len(text) == 0:
		return fmt.Errorf("not %s: the file is empty", kind)
	case text[0] != '{':
		return fmt.Errorf("not %s: want JSON that begins with {, found %q", kind, text[:1])
	case errors.As(err, &syntax) && 0 < syntax.Offset && syntax.Offset < int64(len(data)):
		return fmt.Errorf("byte %d: not %s: unexpected %q", syntax.Offset-1, kind, data[syntax.Offset-1:syntax.Offset])
	case syntax != nil, errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("byte %d: the file is cut off; want the whole of %s", len(data), kind)
	case errors.As(err, &value):
		return fmt.Errorf("byte %d: not %s: found %s as %q", value.Offset, kind, value.Value, value.Field)
	}
	return fmt.Errorf("not %s: %s", kind, strings.TrimPrefix(err.Error(), "json: "))
}
