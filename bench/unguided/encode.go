package unguided

import (
	"bytes"
	"fmt"
	"math"
)

// encode is an input in the form of go test's corpus files.
func encode(values []any) []byte {
	var b bytes.Buffer
	b.WriteString("go test fuzz v1\n")
	for _, v := range values {
		switch v := v.(type) {
		case []byte:
			fmt.Fprintf(&b, "[]byte(%q)\n", v)
		case string:
			fmt.Fprintf(&b, "string(%q)\n", v)
		case byte:
			fmt.Fprintf(&b, "byte(%q)\n", v)
		case float32:
			fmt.Fprintf(&b, "math.Float32frombits(0x%x)\n", math.Float32bits(v))
		default:
			fmt.Fprintf(&b, "%T(%v)\n", v, v)
		}
	}
	return b.Bytes()
}
