package output

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// No output is lost because its file's name is another's.
func TestFileNames(t *testing.T) {
	for _, tc := range [][2][]string{
		{{"a/b", "a_b"}, {"a%2Fb", "a_b"}},
		{{"a_b", "a/b", "a\\b"}, {"a_b", "a%2Fb", "a%5Cb"}},
		{{"a/b"}, {"a_b"}},
		{{"y", "Y"}, {"y", "Y~2"}},
		{{"..", "", "x\x00y"}, {"_..", "_", "x_y"}},
		// One file on a system that ignores case or compares decomposed forms.
		{{"\u00e9", "e\u0301"}, {"\u00e9", "e\u0301~2"}},
		{{"s", "\u017f", "S"}, {"s", "\u017f~2", "S~3"}},
		{{"k", "\u212a"}, {"k", "\u212a~2"}},
		{{"\u304b\u3099", "\u304c"}, {"\u304b\u3099", "\u304c~2"}},
		{{"输入", "输出"}, {"输入", "输出"}},
	} {
		if got := FileNames(tc[0]); !slices.Equal(got, tc[1]) {
			t.Errorf("%q: %q, want %q", tc[0], got, tc[1])
		}
	}
	long := strings.Repeat("a/path/é/", 40)
	names := FileNames([]string{long + "x", long + "y", long[:100]})
	if names[0] == names[1] || names[2] != strings.ReplaceAll(long[:100], "/", "_") {
		t.Errorf("%q", names)
	}
	for _, name := range names {
		if len(name) > 200 || !utf8.ValidString(name) {
			t.Errorf("%d bytes: %q", len(name), name)
		}
	}
}
