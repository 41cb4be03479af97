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
		{"key of the program cache", "content, not the source's name: identical graphs hit", "chapter 5", "combined with the resolved source URL", "chapter 5, the next sentence", "the content; a source is possible in the Go package, and no command sets it"},
		{"time of a call", "stages that sum to 183.5 us", "table 2.3", "about 190 us; SendRequest 163 and 25", "chapter 2", "stages and floors are separate data"},
		{"table 2.3 on a host", "190 us a call, 130 of them in the firmware", "table 2.3", "209.9 us, fitted to the same guide's rows", "the guide's session", "the split scaled to each host's floor; only macos-air is within 5%"},
		{"commands under way", "one, measured by two threads that gain 4%", "chapter 2", "queues that preempt each other, which needs two", "chapter 2, decompiled", "one by default; in_flight of a load allows more"},
		{"selector 2 of a repeated call", "163 us of every call in a loop", "chapter 2", "no selector on a warm execution", "chapter 5", "every request is a selector 2"},
		{"how a call ends", "an interrupt; the message path is not used", "chapter 2", "a message to the request's wake port", "chapters 23 and 27", "an interrupt for each completion; the port says who is told"},
		{"what rings the doorbell", "selector 2 alone", "chapter 27", "selector 4 of the direct path, inputs ready, runs the engine too", "chapter 27", "both"},
		{"the pair 5, 21 of a request", "a class of service and a priority", "chapter 27", "21 is the default class, and 5 one of eight priorities", "the public header", "5 at +0x10 is the priority; the class at +0x14 is not used"},
		{"subsystem of INFERENCE_CALL", "execution", "table C.15", "no fields, unlike every call of that channel", "table C.15", "execution; refused there, as its effect is not documented"},
		{"who opens the device", "the broker alone", "chapter 27", "an application sends selector 2 itself", "chapter 5", "the broker opens and lends a handle; the connection is the application's"},
		{"addresses of the register groups", "0x4100, 0x4500 and 0x5100 for the planar engine, the L2 and its results", "chapter 23", "slot 0x1442 of the tile DMA's destination is byte 0x5108", "table 23.5", "the slots, and version 7 addresses for programs of the M1"},
		{"stride of the tile enables", "regular, from 0xd014 to 0xfec4", "table C.14", "0x2eb0 is no multiple of 31", "the same two addresses", "0x300 an engine and 0x1b0 a half, one solution of several: 30 of the 32 are assumed"},
		{"modes of the activation unit", "48, numbered as the register", "table C.6", "0 none, 1 ReLU, 2 a table", "real programs", "the bytes of programs"},
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
