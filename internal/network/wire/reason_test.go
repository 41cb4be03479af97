package wire

import "testing"

// What is wrong with bytes is said in the same words by every build.
func TestReason(t *testing.T) {
	for data, want := range map[string]string{
		"\x08": "cannot decode field 1: its value ends after the bytes that hold it", "\x07\x00": "cannot decode field tag: invalid field number",
		"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01": "cannot decode field 1: variable length integer overflow",
	} {
		err := Message{Data: []byte(data)}.Fields(func(Field) error { return nil })
		if err == nil || err.Error() != "byte 0x0: "+want {
			t.Errorf("% x: %q, want %q", data, err, want)
		}
	}
}
