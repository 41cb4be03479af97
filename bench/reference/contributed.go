package reference

var contributed = map[string]operator{}
