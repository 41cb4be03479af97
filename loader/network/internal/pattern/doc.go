// Package pattern finds operators that a network's file spells as several nodes, such as the five of a
// GELU, and puts a single node in their place.
//
// Exporters write some operators as several nodes: a GELU as five, a norm as seven. The engine
// computes a GELU with a table and a norm with a chain of its own. [Find] therefore finds such
// groups of nodes, and [Replace] puts a single operator in their place. Frameworks also order
// axes differently, which leaves transposes that cancel each other, and each transpose moves a
// whole tensor. [CancelTransposes] removes them, and [AdvanceTransposes] moves those of a narrow image to
// the front. The package looks only at nodes and tensors.
// Later packages decide whether the engine can run an operator.
package pattern
