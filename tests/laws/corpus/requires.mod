module "a
require (
	
	b v1 // c
)
require d
