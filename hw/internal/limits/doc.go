// Package limits decides from a task's registers whether the model can compute its values, and lists
// the assumptions on which computed values rest.
//
//	regs.Groups, regs.Operands --> Find         the first reason why values are not computed, or none
//	regs.Groups -----------------> Assumptions  what computed values rest on that no program confirms
//
// The rules are about evidence: a bit, a shape or a packing is refused where no program or document shows
// what the engine does with it, so the model never claims values that it made up. What a task meets while
// it runs, such as an address outside its segment, is a matter of package hw.
package limits
