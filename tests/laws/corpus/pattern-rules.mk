%: ; @a
%.o: %.c
	$(a$(b$(c
.PHONY: a
include $(wildcard $(a)/*.mk) -x
