package driver

// A Conflict is a place where the documents disagree with each other or with public
// headers. Both readings are kept; Taken says which one this package follows.
type Conflict struct {
	What, One, Other, Taken string
}

// Conflicts lists them.
func Conflicts() []Conflict {
	return []Conflict{
		{"selectors of the control client", "17, numbers 0 to 16", "21 (inputs ready) and 22 (memory map) in the reference tables", "17: the kernel's own count"},
		{"one selector for several sizes", "none: every size is exact", "selectors keyed by number and struct size", "exact sizes"},
		{"output of chaining prepare (9)", "24 bytes", "a pointer", "24 bytes"},
		{"memory map", "no struct out and one scalar", "2080 bytes and a scalar in, one scalar out", "the first; the second says the same of its inputs"},
		{"selectors 3 to 6 of the daemon", "create, prepare, unprepare, destroy", "create or enqueue, prepare or inputs ready", "the kernel's table"},
		{"engines in the open reply (+0x50)", "1", "the pair 0, 1", "1"},
		{"Error", "0xe0000001", "0xe00002bc in the public header", "the documents' value is returned, the public one printed"},
		{"Busy", "0xe0000007", "0xe00002d5 in the public header", "as Error"},
		{"NotReady", "0xe00002d0", "0xe00002d8 in the public header", "as Error"},
		{"Timeout", "0xe0000404", "0xe00002d6 in the public header", "as Error"},
		{"relocation slots", "7, named", "11", "7; the others are unknown"},
		{"neuron tokens", "30 in the table (8, 24 and 30 are absent)", "33 in the text", "30"},
		{"time of a call", "stages that sum to 183.5 us", "about 190 us; SendRequest 163 and 25", "stages and floors are separate data"},
	}
}

// A Property is what the driver publishes of itself.
type Property struct {
	Name  string
	Value string
}

// Properties lists them as read on an M1 host (measured).
func Properties() []Property {
	return []Property{
		{"architecture type", "h13g"}, {"version", "96"}, {"minor version", "17"},
		{"board type", "96"}, {"board subtype", "0"}, {"number of cores", "16"},
		{"number of engines", "1"}, {"CPU subtype", "4"}, {"internal build", "No"},
	}
}
