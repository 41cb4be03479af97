package driver

// A Conflict describes a contradiction between two sources, such as documents. One and Other hold
// what they say, and OneAt and OtherAt say where. Taken says what this project follows.
type Conflict struct {
	What           string
	One, OneAt     string
	Other, OtherAt string
	Taken          string
}

// Conflicts returns all known contradictions between the sources of this project.
func Conflicts() []Conflict {
	return []Conflict{
		{"selectors of the control client", "17, numbers 0 to 16", "table 27.2 and listing 27.3", "21 (inputs ready) and 22 (memory map) among ten", "table C.9", "17: the count in the kernel's code"},
		{"one selector for several sizes", "none: every size is exact", "chapter 27", "selectors keyed by number and struct size", "table 23.14 and C.9", "exact sizes"},
		{"output of chaining prepare (9)", "24 bytes", "table 27.2", "a pointer", "table 23.14", "24 bytes"},
		{"output of prepare (4)", "56 bytes", "table 27.2", "a pointer", "table 23.14", "56 bytes"},
		{"memory map", "a scalar and 2080 bytes in, one scalar out", "table 27.4", "one scalar in, 2080 bytes out", "table 23.14", "the first, read from the kernel's table"},
		{"selectors 3 and 4", "create; prepare", "table 27.2", "create or output-set enqueue; prepare or inputs ready", "table 23.14", "the first; the others are the direct path's 3 and 4"},
		{"selectors 3 to 6 of the daemon", "create, prepare, unprepare, destroy", "table 27.2", "destroy, status, instance create with unprepare, create", "chapter 5, traced", "the kernel's table"},
		{"engines in the open reply (+0x50)", "1", "table 27.3", "the pair 0, 1", "table C.10", "1"},
		{"Error", "0xe0000001", "table C.11", "0xe00002bc", "the public header", "the documents' value is returned, the public one printed"},
		{"Busy", "0xe0000007", "table C.11", "0xe00002d5", "the public header", "as Error"},
		{"NotReady", "0xe00002d0", "table C.11", "0xe00002d8", "the public header", "as Error"},
		{"Timeout", "0xe0000404", "table C.11", "0xe00002d6", "the public header", "as Error"},
		{"relocation slots", "11", "chapter 23", "7, named", "table 23.5", "7; what the others would be is unknown"},
		{"activation tokens", "33", "table C.1's title", "30 rows: 8, 24 and 30 are absent", "table C.1", "30"},
		{"custom bars", "barriers", "table C.15", "values that relocations take", "chapter 23", "values: a bar gives a field an address, an identifier or an offset; run-time parameters have names"},
		{"key of the program cache", "content, not the source's name: identical graphs hit", "chapter 5", "combined with the resolved source URL", "chapter 5, the next sentence", "both: an empty source leaves the content alone"},
		{"time of a call", "stages that sum to 183.5 us", "table 2.3", "about 190 us; SendRequest 163 and 25", "chapter 2", "stages and floors are separate data"},
	}
}

// A Property is a name and value that the driver publishes in the system's device registry.
type Property struct {
	Name  string
	Value string
}

// Properties returns the properties that the driver of an M1 publishes, as measured.
func Properties() []Property {
	return []Property{
		{"architecture type", "h13g"}, {"version", "96"}, {"minor version", "17"},
		{"board type", "96"}, {"board subtype", "0"}, {"number of cores", "16"},
		{"number of engines", "1"}, {"CPU subtype", "4"}, {"internal build", "No"},
	}
}
